import Glibc

/// The limit of open descriptors of the process.
enum DescriptorLimit {
    /// Descriptors of notifyctl itself: the connection, event loops, and inherited descriptors.
    private static let base = 128
    /// Descriptors of each command: its process, and one end of the pipe for its standard error. A command that is
    /// being started also needs the other end, its payload, and one more.
    private static let forEachCommand = 5
    /// Additional descriptors of each command with `--prefix`: the pipe for its standard output.
    private static let forEachPrefix = 2

    /// The number of descriptors needed to run commands.
    static func needed(parallel: Int, isPrefixed: Bool) -> Int {
        base + parallel * (forEachCommand + (isPrefixed ? forEachPrefix : 0))
    }

    /// Raises the soft limit if it does not permit `parallel` commands at the same time. Commands inherit the raised
    /// limit, because `posix_spawn` can't set another one. For one command, the default, a usual limit such as 1024 is
    /// not raised.
    ///
    /// - Throws: `CommandFailure` if the hard limit is too low.
    static func raise(forParallel parallel: Int, isPrefixed: Bool) throws(CommandFailure) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let soft = try softLimit(
            parallel: parallel, isPrefixed: isPrefixed, soft: limit.rlim_cur, hard: limit.rlim_max)
        guard soft != limit.rlim_cur else { return }
        limit.rlim_cur = soft
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The soft limit to set, given the current limits.
    static func softLimit(
        parallel: Int, isPrefixed: Bool, soft: rlim_t, hard: rlim_t
    ) throws(CommandFailure) -> rlim_t {
        let needed = rlim_t(needed(parallel: parallel, isPrefixed: isPrefixed))
        guard needed > soft else { return soft }
        guard needed <= hard else {
            throw CommandFailure(
                .usage,
                "--parallel \(parallel) needs \(needed) file descriptors, and the hard limit is \(hard): raise it, "
                    + "for example with 'ulimit -Hn', or run fewer commands at the same time")
        }
        return needed
    }
}
