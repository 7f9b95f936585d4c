import Glibc

/// How many files and sockets the process may have open.
enum DescriptorLimit {
    /// Raises the soft limit, which is low so as not to break `select`, to the hard one, which is what is meant.
    ///
    /// - Returns: the limit that holds from now on.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = raised.rlim_max
        let holds = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 ? raised : limit
        return Int(clamping: holds.rlim_cur)
    }
}
