extension String {
    /// Calls a closure with the UTF-8 bytes of the string, valid only during the call. Native strings are not copied.
    @inlinable
    @inline(__always)
    package func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        return Array(utf8).withUnsafeBytes(body)
    }

    /// Compares the bytes of two strings. The `==` of strings would compare by canonical equivalence.
    @inline(__always)
    func hasSameBytes(as other: String) -> Bool {
        // Fast path: identical representations are equal strings, as when the same name is posted again.
        if unsafeBitCast(self, to: (UInt64, UInt64).self) == unsafeBitCast(other, to: (UInt64, UInt64).self) {
            return true
        }
        return hasSameBytesSlowPath(as: other)
    }

    /// Compares strings whose representations differ. Not inlined: the code for all representations is long.
    @inline(never)
    private func hasSameBytesSlowPath(as other: String) -> Bool {
        withUTF8Bytes { bytes in other.withUTF8Bytes { bytes.hasSameBytes(as: $0) } }
    }
}

extension UnsafeRawBufferPointer {
    /// Compares the bytes of two buffers.
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard count > 0, let left = baseAddress, let right = other.baseAddress else { return true }
        return left.hasSameBytes(as: right, count: count)
    }

    /// Compares bytes in lexicographic order.
    ///
    /// - Returns: Whether these bytes precede the others.
    @inline(__always)
    func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let shorter = Swift.min(count, other.count)
        guard shorter > 0, let left = baseAddress, let right = other.baseAddress else { return count < other.count }
        var offset = 0
        while offset &+ 8 <= shorter, left.word(at: offset) == right.word(at: offset) { offset &+= 8 }
        while offset < shorter {
            let (one, two) = (self[offset], other[offset])
            if one != two { return one < two }
            offset &+= 1
        }
        return count < other.count
    }
}

extension UnsafeRawPointer {
    /// Compares the next `count` bytes of both pointers in whole words. A remainder is compared as one more word that
    /// overlaps the previous word. Fewer than 8 bytes are compared one by one.
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawPointer, count: Int) -> Bool {
        guard count >= 8 else {
            var offset = 0
            while offset < count {
                if load(fromByteOffset: offset, as: UInt8.self) != other.load(fromByteOffset: offset, as: UInt8.self) {
                    return false
                }
                offset &+= 1
            }
            return true
        }
        var offset = 0
        while offset &+ 8 <= count {
            if word(at: offset) != other.word(at: offset) { return false }
            offset &+= 8
        }
        return word(at: count &- 8) == other.word(at: count &- 8)
    }

    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// The last `count % 8` of `count` bytes, in the lower bytes of a word. Reads without a loop and within bounds.
    @inline(__always)
    func tail(count: Int) -> UInt64 {
        let rest = count & 7
        if rest == 0 { return 0 }
        if count >= 8 { return UInt64(littleEndian: word(at: count &- 8)) &>> UInt64(8 &* (8 &- rest)) }
        if rest >= 4 {
            let low = UInt32(littleEndian: loadUnaligned(as: UInt32.self))
            let high = UInt32(littleEndian: loadUnaligned(fromByteOffset: rest &- 4, as: UInt32.self))
            return UInt64(low) | UInt64(high) &<< UInt64(8 &* (rest &- 4))
        }
        let middle = rest &>> 1
        return UInt64(load(as: UInt8.self))
            | UInt64(load(fromByteOffset: middle, as: UInt8.self)) &<< UInt64(8 &* middle)
            | UInt64(load(fromByteOffset: rest &- 1, as: UInt8.self)) &<< UInt64(8 &* (rest &- 1))
    }
}

extension UInt64 {
    /// A word with the value 1 in each byte.
    static let ones: UInt64 = 0x0101_0101_0101_0101

    /// A word with the highest bit of each byte set.
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// A word with the highest bit set in each byte that is equal to `byte`.
    @inline(__always)
    func occurrences(of byte: UInt8) -> UInt64 {
        let difference = self ^ UInt64(byte) &* Self.ones
        return ~(((difference & ~Self.highBits) &+ ~Self.highBits) | difference) & Self.highBits
    }
}
