import NotifyCenter
import NotifyLog
import NotifyWire

extension NamePattern {
    /// Whether some name matches both patterns.
    func overlaps(_ other: NamePattern) -> Bool {
        withUTF8 { bytes in other.withUTF8 { Self.overlap(TokenCursor(bytes), TokenCursor($0)) } }
    }

    private static func overlap(_ left: TokenCursor, _ right: TokenCursor) -> Bool {
        var (left, right) = (left, right)
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): return true
            case (nil, _?), (_?, nil): return false
            case (let left?, let right?):
                if left.elementsEqual(">".utf8) || right.elementsEqual(">".utf8) { return true }
                let isWildcard = left.elementsEqual("*".utf8) || right.elementsEqual("*".utf8)
                guard isWildcard || left.elementsEqual(right) else { return false }
            }
        }
    }
}
