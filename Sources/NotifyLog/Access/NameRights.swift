import NotifyCenter
import NotifyWire

/// The built-in rules: only the daemon posts under `notifyd.`, and `user.<uid>.` belongs to that user and to root.
enum NameRights {
    /// Whether `uid` may post under `name`.
    static func mayPost(_ name: UnsafeRawBufferPointer, uid: UInt32) -> Bool {
        !ReservedNames.isReserved(name) && mayReceive(name, uid: uid)
    }

    /// Whether `uid` may receive messages posted under `name`.
    static func mayReceive(_ name: UnsafeRawBufferPointer, uid: UInt32) -> Bool {
        guard name.first == UInt8(ascii: "u"), uid != 0, let owner = owner(of: name) else { return true }
        return owner == uid
    }

    /// Whether `uid` may subscribe with `pattern`. A pattern under another user's prefix is refused.
    static func maySubscribe(_ pattern: NamePattern, uid: UInt32) -> Bool {
        pattern.withUTF8 { bytes in
            guard uid != 0, bytes.first == UInt8(ascii: "u"), let owner = owner(of: bytes) else { return true }
            return owner == uid || owner == nil
        }
    }

    /// The rule that restricts `name`, for error messages; nil if none does.
    static func rule(for name: UnsafeRawBufferPointer) -> String? {
        if ReservedNames.isReserved(name) { return "names under notifyd are reserved for the daemon" }
        guard let owner = owner(of: name) else { return nil }
        let token = String(decoding: name.slice(from: name.firstToken.count + 1).firstToken, as: UTF8.self)
        return "names under user.\(token) belong to " + (owner.map { "uid \($0)" } ?? "root")
    }

    /// The owner of `name`, if its first token is `user` and another follows; nil for any other name. The inner value
    /// is nil if the second token is not a uid. Such a name belongs to root alone.
    private static func owner(of name: UnsafeRawBufferPointer) -> UInt32?? {
        let first = name.firstToken
        guard first.elementsEqual("user".utf8), first.count < name.count else { return nil }
        return .some(userNumber(name.slice(from: first.count + 1).firstToken))
    }

    /// Parses a decimal `UInt32` without leading zeros; nil for anything else.
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
}
