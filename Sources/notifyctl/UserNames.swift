import ArgumentParser
import Glibc

/// Users in names and on the command line.
enum UserNames {
    /// Refuses names and patterns such as `user.alice.mail`: the part behind `user.` is a uid.
    ///
    /// - Throws: `ValidationError` that says what to write.
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
                    + (known == nil ? "there is no user of that name; write a uid, as in \(hint)" : "write \(hint)"))
        }
    }

    /// The uid of a user who is named, or given as a uid.
    ///
    /// - Throws: `ValidationError` if there is no user of that name.
    static func uid(argument: String) throws -> UInt32 {
        guard let uid = UInt32(argument) ?? uid(of: argument) else {
            throw ValidationError("there is no user '\(argument)'; give the name of a user, or a uid")
        }
        return uid
    }

    /// The uid of a user; nil if there is no user of that name.
    static func uid(of user: String) -> UInt32? {
        getpwnam(user)?.pointee.pw_uid
    }
}
