package import NotifyCenter

/// The names that are not everybody's: `notifyd.` is the daemon's own, `user.<uid>.` belongs to that user and to root.
package enum NameRights {
    /// The daemon's own first token. Only it posts there, and a pattern that begins with a wildcard does not match it.
    package static let daemonToken = "notifyd"

    /// Whether `uid` may post under `name`.
    package static func mayPost(_ name: UnsafeRawBufferPointer, uid: UInt32) -> Bool {
        if name.first == UInt8(ascii: "n"), firstToken(of: name).elementsEqual(daemonToken.utf8) { return false }
        return mayReceive(name, uid: uid)
    }

    /// Whether `name` may be in a part that belongs to one user, so that receivers' rights must be asked.
    package static func isPrivate(_ name: UnsafeRawBufferPointer) -> Bool {
        name.first == UInt8(ascii: "u") && owner(of: name) != nil
    }

    /// Whether messages of `name` may reach a subscription of `uid`.
    package static func mayReceive(_ name: UnsafeRawBufferPointer, uid: UInt32) -> Bool {
        guard name.first == UInt8(ascii: "u"), uid != 0, let owner = owner(of: name) else { return true }
        return owner == uid
    }

    /// Whether a subscription with `pattern` may be made by `uid`: one that names another user's part is refused.
    package static func maySubscribe(_ pattern: NamePattern, uid: UInt32) -> Bool {
        pattern.withUTF8 { bytes in
            guard uid != 0, bytes.first == UInt8(ascii: "u"), let owner = owner(of: bytes) else { return true }
            return owner == uid || owner == nil
        }
    }

    /// Whether `pattern`, which matches `name`, may see it: wildcards in first place do not see the daemon's own.
    package static func isVisible(_ name: UnsafeRawBufferPointer, to pattern: NamePattern) -> Bool {
        guard name.first == UInt8(ascii: "n"), firstToken(of: name).elementsEqual(daemonToken.utf8) else { return true }
        return !pattern.startsWithWildcard
    }

    /// The user whose part `name` is in. A second token that is no user's number belongs to root alone.
    private static func owner(of name: UnsafeRawBufferPointer) -> UInt32?? {
        let first = firstToken(of: name)
        guard first.elementsEqual("user".utf8), first.count < name.count else { return nil }
        return .some(userNumber(firstToken(of: name.slice(from: first.count + 1))))
    }

    /// A decimal number in its shortest form.
    private static func userNumber(_ digits: UnsafeRawBufferPointer) -> UInt32? {
        guard (1...10).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else {
            return nil
        }
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
        }
        return UInt32(exactly: value)
    }

    private static func firstToken(of name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        name.slice(0, name.firstIndex(of: UInt8(ascii: ".")) ?? name.count)
    }
}
