import ArgumentParser
import Glibc
import NotifyClient

/// Checks the users in message names, and converts the users in arguments to uids.
enum UserNames {
    /// Refuses names and patterns such as `user.alice.mail`, in which the token after `user` is not a uid.
    ///
    /// - Throws: `ValidationError` that contains the name to write instead.
    static func check(_ names: [String]) throws {
        for name in names {
            let tokens = name.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard tokens.count > 1, tokens[0] == "user", !["", "*", ">"].contains(tokens[1]) else { continue }
            let user = String(tokens[1])
            if let uid = UInt32(user), String(uid) == user { continue }
            let known = UInt32(user) ?? uid(of: user)
            let right = ["user", "\(known ?? getuid())"] + tokens.dropFirst(2).map(String.init)
            let hint = right.joined(separator: ".")
            throw ValidationError(
                "'\(user)' in '\(name)' is not a uid; "
                    + (known == nil ? "no user has this name; write a uid, as in \(hint)" : "write \(hint)"))
        }
    }

    /// The uid of a user given by name or uid.
    ///
    /// - Throws: `ValidationError` if there is no user of that name. ArgumentParser prepends the option and the value
    ///   to the message.
    static func uid(argument: String) throws -> UInt32 {
        guard let uid = uid(decimal: argument) ?? uid(of: argument) else {
            throw ValidationError(problem(ofUser: argument))
        }
        return uid
    }

    private static func problem(ofUser argument: String) -> String {
        guard isDecimal(argument) else { return "this machine has no user of this name" }
        return hasSuperfluousZero(argument)
            ? "expected a uid without a superfluous 0, such as 10" : "expected a uid up to \(highestUID)"
    }

    /// The highest valid uid: for the kernel, `(uid_t) -1` means "unchanged".
    private static let highestUID = UInt32.max - 1

    /// Parses a uid of decimal digits; nil for any other text, even for digits with a sign or a superfluous 0.
    private static func uid(decimal text: String) -> UInt32? {
        guard isDecimal(text), !hasSuperfluousZero(text) else { return nil }
        return UInt32(text).flatMap { $0 <= highestUID ? $0 : nil }
    }

    private static func hasSuperfluousZero(_ digits: String) -> Bool { digits.count > 1 && digits.hasPrefix("0") }

    private static func isDecimal(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    }

    /// The name of a user; nil if the uid has none.
    static func name(of uid: UInt32) -> String? {
        guard let user = getpwuid(uid), let name = user.pointee.pw_name else { return nil }
        return String(cString: name)
    }

    /// The names of users. A uid without a name has no entry. Looks up each uid once.
    static func names(of uids: some Sequence<UInt32>) -> [UInt32: String] {
        var names: [UInt32: String] = [:]
        for uid in Set(uids) { names[uid] = name(of: uid) }
        return names
    }

    /// The name of a user, or the uid if it has no name.
    static func text(of uid: UInt32) -> String { name(of: uid) ?? "\(uid)" }

    /// The uid of a user; nil if there is no user of that name.
    static func uid(of user: String) -> UInt32? {
        getpwnam(user)?.pointee.pw_uid
    }

    /// A user with the groups of the user database. A uid without an entry is in no group.
    static func subject(uid: UInt32) -> Administration.PolicySubject {
        guard let entry = getpwuid(uid)?.pointee else { return .init(uid: uid, gid: .max) }
        var count: Int32 = 64
        while true {
            let capacity = count
            let groups = [gid_t](unsafeUninitializedCapacity: Int(capacity)) { buffer, initialized in
                let result = getgrouplist(entry.pw_name, entry.pw_gid, buffer.baseAddress, &count)
                initialized = result < 0 ? 0 : Int(count)
            }
            if count <= capacity { return .init(uid: uid, gid: entry.pw_gid, groups: groups) }
        }
    }

    /// The user and groups of this process, as the daemon sees them.
    static var ownSubject: Administration.PolicySubject {
        let groups = [gid_t](unsafeUninitializedCapacity: Int(max(getgroups(0, nil), 0))) { buffer, initialized in
            initialized = Int(max(getgroups(Int32(buffer.count), buffer.baseAddress), 0))
        }
        return .init(uid: geteuid(), gid: getegid(), groups: groups)
    }

    /// Whether a text has a token that is a wildcard, so that it may match several names.
    static func isPattern(_ text: String) -> Bool { text.split(separator: ".").contains { $0 == "*" || $0 == ">" } }
}
