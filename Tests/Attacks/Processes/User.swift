import Glibc

/// Users that no machine has, so that they own nothing else.
enum User: UInt32, CaseIterable {
    case attacker = 60_001
    case accomplice = 60_002
    case innocent = 60_003

    /// Becomes this user for good; a process of root's may.
    func become() throws {
        guard setgroups(0, nil) == 0, setgid(rawValue) == 0, setuid(rawValue) == 0 else {
            throw SystemError("becoming uid \(rawValue)")
        }
    }
}

enum Descriptors {
    /// Lets this process, and those that it starts, open as many files as it may.
    static func raiseLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
