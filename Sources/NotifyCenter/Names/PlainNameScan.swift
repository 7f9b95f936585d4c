/// Recognizes valid names of printable ASCII without `*` and `>`, eight bytes at a time. Accepts nearly every posted
/// name with half the instructions of ``NameGrammar``. A name that the scan does not accept may still be valid.
struct PlainNameScan {
    private var dotCount = 0
    /// 0x80 if the previous byte is a dot or there is no previous byte, otherwise 0.
    private var carry: UInt64 = 0x80

    static func accepts(_ name: UnsafeRawBufferPointer) -> Bool {
        let count = name.count
        guard count > 0, count <= NotificationName.maximumBytes, let base = name.baseAddress else { return false }
        var scan = PlainNameScan()
        var offset = 0
        while offset &+ 8 <= count {
            guard scan.accepts(UInt64(littleEndian: base.word(at: offset))) else { return false }
            offset &+= 8
        }
        if offset < count {
            // Fills the rest of the word with letters, which do not change the result.
            let padding = UInt64(UInt8(ascii: "a")) &* UInt64.ones &<< UInt64(8 &* (count & 7))
            guard scan.accepts(base.tail(count: count) | padding) else { return false }
        }
        return scan.dotCount < NotificationName.maximumTokens && name[count &- 1] != UInt8(ascii: ".")
    }

    @inline(__always)
    private mutating func accepts(_ word: UInt64) -> Bool {
        // From here on, no byte has its highest bit set, so additions and subtractions do not carry into other bytes.
        if word & UInt64.highBits != 0 { return false }
        let isTooLow = ~((word | UInt64.highBits) &- 0x21 &* UInt64.ones)
        let isDelete = word &+ UInt64.ones
        let isWildcard =
            word.occurrences(of: UInt8(ascii: "*")) | word.occurrences(of: UInt8(ascii: ">"))
        let dots = word.occurrences(of: UInt8(ascii: "."))
        let isDoubled = dots & (dots &<< 8 | carry)
        if (isTooLow | isDelete | isWildcard | isDoubled) & UInt64.highBits != 0 { return false }
        carry = dots &>> 56
        dotCount &+= dots.nonzeroBitCount
        return true
    }
}
