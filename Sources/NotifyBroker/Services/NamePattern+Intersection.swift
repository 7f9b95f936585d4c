import NotifyCenter
import NotifyLog
import NotifyWire

extension NamePattern {
    /// The pattern of the names that match both patterns; nil if there are none.
    func intersection(_ other: NamePattern) -> NamePattern? {
        var tokens: [UInt8] = []
        let overlaps = withUTF8 { bytes in
            other.withUTF8 { Self.intersect(TokenCursor(bytes), TokenCursor($0), into: &tokens) }
        }
        guard overlaps else { return nil }
        return tokens.withUnsafeBytes { try? NamePattern(utf8: $0) }
    }

    /// Appends the tokens of the intersection.
    ///
    /// - Returns: Whether some name matches both patterns.
    private static func intersect(_ left: TokenCursor, _ right: TokenCursor, into tokens: inout [UInt8]) -> Bool {
        var (left, right) = (left, right)
        func append(_ token: some Sequence<UInt8>) {
            if !tokens.isEmpty { tokens.append(UInt8(ascii: ".")) }
            tokens.append(contentsOf: token)
        }
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): return true
            case (nil, _?), (_?, nil): return false
            case (let first?, let second?):
                let endsLeft = first.elementsEqual(">".utf8)
                if endsLeft || second.elementsEqual(">".utf8) {
                    // The other pattern is narrower from here on.
                    append(endsLeft ? second : first)
                    while let token = endsLeft ? right.next() : left.next() { append(token) }
                    return true
                }
                if first.elementsEqual("*".utf8) {
                    append(second)
                } else if second.elementsEqual("*".utf8) || first.elementsEqual(second) {
                    append(first)
                } else {
                    return false
                }
            }
        }
    }
}
