import FoundationEssentials
package import Glibc

/// What a process is told by whoever started it. Taken as a value, so that a test can make one up.
package struct ProcessContext: Sendable {
    package var processID: pid_t
    package var userID: uid_t
    package var environment: [String: String]

    package init(processID: pid_t, userID: uid_t, environment: [String: String]) {
        self.processID = processID
        self.userID = userID
        self.environment = environment
    }

    package var isRoot: Bool { userID == 0 }

    /// An environment variable; one that is set to nothing counts as not set.
    package func variable(_ name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// The variable as an absolute path; anything else is ignored, as the XDG base directory specification asks.
    func absolutePath(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}

extension ProcessContext {
    /// What the service manager meant for this process alone: a program it starts must not take it for its own.
    static let servicePrivateVariables =
        SocketActivation.variables + ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]

    /// Reads the real process, and takes the service manager's variables out of its environment.
    ///
    /// To be called once and first, before another thread could read the environment.
    package static func takeFromProcess() -> ProcessContext {
        let context = ProcessContext(
            processID: getpid(), userID: geteuid(), environment: ProcessInfo.processInfo.environment)
        for name in servicePrivateVariables { unsetenv(name) }
        return context
    }
}
