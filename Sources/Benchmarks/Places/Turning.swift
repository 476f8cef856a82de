import Glibc

/// Trigonometry in degrees.
enum Turning {
    static func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }
}
