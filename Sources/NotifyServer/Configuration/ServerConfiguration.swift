package import Glibc
package import NotifyBroker
package import NotifyLog
package import NotifyStore
import NotifySystem

/// All settings of the daemon. The defaults of the broker and the store are in `BrokerConfiguration` and
/// `StoreOptions`. The other defaults are here.
///
/// ``ConfigurationSetting/all`` lists the keys and value ranges of the settings.
package struct ServerConfiguration: Equatable, Sendable {
    /// The path of the socket. The default is in ``DefaultPaths``.
    package var socketPath: String
    /// The permission bits of the socket; connecting needs write permission. By default 0666 if the daemon runs as root
    /// or the path is ``DefaultPaths/systemSocketPath``, 0600 otherwise.
    package var socketMode: mode_t
    /// The path of the database with the stored messages. The default is in ``DefaultPaths``.
    package var databasePath: String
    /// The configured rules, which follow the default rules: first the rules of the configuration file, then the rules
    /// of the files in `policy.d`.
    package var policy: [AccessRule] = []
    package var logLevel: LogLevel = .info
    /// The time limit for a stopping daemon to commit, send `closing` and flush. After that the daemon closes all
    /// connections.
    package var drainDeadline: Duration = .seconds(10)
    /// Limits and timeouts of users and connections.
    package var broker = BrokerConfiguration()
    /// The retention of the log, its limits, and the size at which its write-ahead log is checkpointed.
    package var store = StoreOptions()

    package init(socketPath: String, socketMode: mode_t, databasePath: String) {
        self.socketPath = socketPath
        self.socketMode = socketMode
        self.databasePath = databasePath
        broker.memoryBytes = Self.automaticMemoryBytes
    }

    /// The configuration of the broker. All values together may take a quarter of the log, because the retention does
    /// not delete them.
    var completeBroker: BrokerConfiguration {
        var complete = broker
        complete.valueBytes = store.retention.maximumBytes.map { Int(clamping: $0 / 4) } ?? .max
        return complete
    }

    /// A quarter of the machine's memory in bytes, but at least 16 MiB and at most 1 GiB.
    static var automaticMemoryBytes: Int { max(16 << 20, min(PhysicalMemory.bytes / 4, 1 << 30)) }
}
