extension Duration? {
    /// The earlier of two times. Nil counts as later than any time.
    static func earlier(_ left: Duration?, _ right: Duration?) -> Duration? {
        guard let left else { return right }
        guard let right else { return left }
        return Swift.min(left, right)
    }
}
