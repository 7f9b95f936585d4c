import Glibc

/// The users that processes run as. Their uids are unused on normal machines, so no other files or processes belong to
/// these users.
enum User: UInt32, CaseIterable {
    case attacker = 60_001
    case accomplice = 60_002
    case innocent = 60_003

    /// Switches this process permanently to the user. Needs root.
    func switchUser() throws {
        guard setgroups(0, nil) == 0, setgid(rawValue) == 0, setuid(rawValue) == 0 else {
            throw SystemError("switching to uid \(rawValue)")
        }
    }
}

enum Descriptors {
    /// Raises the soft limit of open files of this process and its children to the hard limit.
    static func raiseLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
