/// Sine and cosine of an angle in degrees.
///
/// The angle is reduced in degrees, where a quarter turn is a whole number: the cosine of 90 is exactly 0 and the sines of 180
/// and -180 are both exactly 0. So a pole is one point whatever its longitude, and the antimeridian is one line.
/// Two angles are worked on at once; the same function on every path makes every decision a pure function of the degrees.
/// Polynomials: fdlibm `k_sin.c` and `k_cos.c`, error below 2^-57 on an eighth of a turn.
@usableFromInline
struct Turn {
    @usableFromInline var sine: SIMD2<Double>
    @usableFromInline var cosine: SIMD2<Double>

    @inlinable
    init(degrees: SIMD2<Double>) {
        // Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits, without a call to the C library.
        let shifter = 6_755_399_441_055_744.0
        let shifted = degrees * (1.0 / 90.0) + shifter
        let quarters = shifted - shifter
        let radians = (degrees - quarters * 90.0) * (Double.pi / 180)
        let z = radians * radians

        // In steps: one expression of this length takes the type checker minutes.
        var s = z * 1.589_690_995_211_550_1e-10 - 2.505_076_025_340_686_3e-08
        s = s * z + 2.755_731_370_707_006_8e-06
        s = s * z - 1.984_126_982_985_794_9e-04
        s = s * z + 8.333_333_333_322_489_5e-03
        s = s * z - 1.666_666_666_666_663_2e-01
        let sine = radians + radians * z * s

        var c = z * -1.135_964_755_778_819_5e-11 + 2.087_572_321_298_174_8e-09
        c = c * z - 2.755_731_435_139_066_3e-07
        c = c * z + 2.480_158_728_947_673e-05
        c = c * z - 1.388_888_888_887_411e-03
        c = c * z + 4.166_666_666_666_66e-02
        let cosine = 1.0 - z * 0.5 + z * z * c

        // By bits: choosing by lanes of a mask compiles to a branch for each, and which quarter turn comes next nobody can foretell.
        let quarter = unsafeBitCast(shifted, to: SIMD2<UInt64>.self)
        let one = SIMD2<UInt64>(repeating: 1)
        let swapped = SIMD2<UInt64>(repeating: 0) &- (quarter & one)
        let sineBits = unsafeBitCast(sine, to: SIMD2<UInt64>.self)
        let cosineBits = unsafeBitCast(cosine, to: SIMD2<UInt64>.self)
        let difference = (sineBits ^ cosineBits) & swapped
        let sign = SIMD2<UInt64>(repeating: 1 << 63)
        let up = SIMD2<UInt64>(repeating: 62)
        let signedSine = sineBits ^ difference ^ ((quarter &<< up) & sign)
        let signedCosine = cosineBits ^ difference ^ (((quarter &+ one) &<< up) & sign)
        // Adding 0 makes a negative zero a positive one.
        self.sine = unsafeBitCast(signedSine, to: SIMD2<Double>.self) + 0.0
        self.cosine = unsafeBitCast(signedCosine, to: SIMD2<Double>.self) + 0.0
    }
}
