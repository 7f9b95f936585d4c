/// The columns that printable text takes on a terminal.
extension StringProtocol {
    /// The number of columns of the text. Counting the bytes of ASCII text makes a long table several times faster.
    var columns: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns }
    }

    /// The start of the text, in at most this number of columns.
    func prefix(columns limit: Int) -> SubSequence {
        var rest = limit
        return prefix { character in
            rest -= character.columns
            return rest >= 0
        }
    }

    /// The end of the text, in at most this number of columns.
    private func suffix(columns limit: Int) -> String {
        String(String(reversed()).prefix(columns: limit).reversed())
    }

    /// The text in at most this number of columns, with an ellipsis in place of the omitted middle.
    func shortened(toColumns limit: Int) -> String {
        guard columns > limit else { return String(self) }
        guard limit > 0 else { return "" }
        let tail = (limit - 1) / 2
        return prefix(columns: limit - 1 - tail) + "…" + suffix(columns: tail)
    }
}

extension Character {
    /// The blocks of scalars that take two columns: East Asian scripts.
    private static let wideBlocks: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x20000...0x3FFFD,
    ]

    /// The number of columns that the character takes: two for an emoji or a character of an East Asian script, else
    /// one.
    fileprivate var columns: Int {
        guard let scalar = unicodeScalars.first, scalar.value >= 0x1100 else { return 1 }
        let isWide =
            scalar.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}")
            || Self.wideBlocks.contains { $0.contains(scalar.value) }
        return isWide ? 2 : 1
    }
}
