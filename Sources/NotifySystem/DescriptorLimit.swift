import Glibc

/// The number of files and sockets that the process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit. The soft limit is low by default for programs that use `select`.
    ///
    /// - Returns: The soft limit afterwards; 0 if it can't be read.
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
