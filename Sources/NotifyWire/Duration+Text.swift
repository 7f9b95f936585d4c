extension Duration {
    private static let longest = Duration.seconds(1 << 53)

    /// The duration as text for users, such as `10 s`, `2.5 s` or `250 ms`. Fractions of a millisecond are truncated. A
    /// duration above 2^53 seconds is shown as 2^53 seconds.
    package var text: String {
        let components = min(max(self, .zero - Self.longest), Self.longest).components
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        if milliseconds % 1_000 == 0 { return "\(milliseconds / 1_000) s" }
        return milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Double(milliseconds) / 1_000) s"
    }
}
