extension UInt64 {
    /// The distance of the sequence above `other`; 0 if the sequence is lower.
    func distance(above other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
