extension Duration {
    /// The duration as text for users, such as `10 s`, `2.5 s` or `250 ms`. Fractions of a millisecond are truncated.
    package var text: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        if milliseconds % 1_000 == 0 { return "\(milliseconds / 1_000) s" }
        return milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Double(milliseconds) / 1_000) s"
    }
}
