extension Double {
    /// The same number as an integer, nil where it has a fraction or does not fit.
    ///
    /// `Int64(exactly:)` calls the C library's `trunc`, which costs more than the two conversions here.
    var whole: Int64? {
        guard magnitude < 0x1p63 else { return nil }
        let integer = Int64(self)
        return Double(integer) == self ? integer : nil
    }
}
