import NotifyCenter
import NotifyWire

/// A set of bytes.
struct ByteSet: Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64)

    static let all = ByteSet(words: (.max, .max, .max, .max))
    static let none = ByteSet(words: (0, 0, 0, 0))

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let bit = UInt64(1) &<< UInt64(byte & 63)
        return switch byte >> 6 {
        case 0: words.0 & bit != 0
        case 1: words.1 & bit != 0
        case 2: words.2 & bit != 0
        default: words.3 & bit != 0
        }
    }

    mutating func remove(_ byte: UInt8) {
        let bits = ~(UInt64(1) &<< UInt64(byte & 63))
        switch byte >> 6 {
        case 0: words.0 &= bits
        case 1: words.1 &= bits
        case 2: words.2 &= bits
        default: words.3 &= bits
        }
    }

    func intersection(_ other: ByteSet) -> ByteSet {
        ByteSet(
            words: (
                words.0 & other.words.0, words.1 & other.words.1, words.2 & other.words.2, words.3 & other.words.3
            ))
    }
}

extension ByteSet {
    /// The bytes for which every peer has the right to all names that begin with the byte.
    ///
    /// Empty unless the last rule for all names and all peers allows the right. Excludes the first byte of reserved
    /// names, and the first bytes of names that a later rule denies to some peers.
    static func open(to right: AccessRight, _ rules: [AccessRule]) -> ByteSet {
        let last = rules.lastIndex { rule in
            rule.rights.contains(right) && rule.appliesToAll && rule.names.contains { $0.string == ">" }
        }
        guard let last, rules[last].effect == .allow else { return none }
        var set = all
        if let reserved = ReservedNames.daemonToken.utf8.first { set.remove(reserved) }
        for rule in rules[(last + 1)...] where rule.effect == .deny && rule.rights.contains(right) {
            for pattern in rule.names { set.remove(firstBytesOf: pattern.string) }
        }
        return set
    }

    private mutating func remove(firstBytesOf pattern: String) {
        let token = pattern.prefix { $0 != "." }
        switch token {
        case "*", ">": self = .none
        case AccessRule.ownUIDToken[...]: for digit in UInt8(ascii: "0")...UInt8(ascii: "9") { remove(digit) }
        default: if let byte = token.utf8.first { remove(byte) }
        }
    }
}
