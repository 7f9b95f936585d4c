import FoundationEssentials
package import Glibc

/// The process id, user and environment of the process, as a value that tests can replace.
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

    /// The value of an environment variable; `nil` if it is not set or empty.
    package func variable(_ name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// The variable as an absolute path. A relative path is ignored, as the XDG Base Directory Specification requires.
    func absolutePath(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}

extension ProcessContext {
    /// The variables that the service manager sets for this process alone. Its child processes must not inherit them.
    static let servicePrivateVariables =
        SocketActivation.variables + ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"]

    /// Reads the context of the current process, and removes ``servicePrivateVariables`` from its environment.
    ///
    /// Must be called once, before another thread can read the environment.
    package static func takeFromProcess() -> ProcessContext {
        let context = ProcessContext(
            processID: getpid(), userID: geteuid(), environment: ProcessInfo.processInfo.environment)
        for name in servicePrivateVariables { unsetenv(name) }
        return context
    }
}
