import Glibc

/// The number of files and sockets that the process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit, which is kept low for programs that use `select`, to the hard limit.
    ///
    /// - Returns: The limit that is in force afterwards.
    @discardableResult
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = raised.rlim_max
        let current = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 ? raised : limit
        return Int(clamping: current.rlim_cur)
    }
}
