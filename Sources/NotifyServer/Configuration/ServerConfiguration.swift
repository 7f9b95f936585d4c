package import Glibc
package import NotifyBroker
package import NotifyStore
import NotifySystem

/// Everything that can be set about the daemon. What the broker and the store keep to has its defaults in
/// `BrokerConfiguration` and `StoreOptions`, all else has them here.
///
/// ``ConfigurationSetting/all`` says how each is called in the configuration file and in the environment.
package struct ServerConfiguration: Equatable, Sendable {
    /// Where clients connect. By default where ``DefaultPaths`` says.
    package var socketPath: String
    /// The permission bits of the socket; who may write may connect. 0666 for root and for the system's path, else 0600.
    package var socketMode: mode_t
    /// The database with the stored messages. By default where ``DefaultPaths`` says.
    package var databasePath: String
    /// Takes effect on reload, unlike all else here.
    package var logLevel: LogLevel = .info
    /// How long a stopping daemon takes to commit, to flush and to say `closing` before it ends all the same.
    package var drainDeadline: Duration = .seconds(10)
    /// What users and connections may use, and how long they may take.
    package var broker = BrokerConfiguration()
    /// How large the log may become, and when its write-ahead log moves into the database.
    package var store = StoreOptions()

    package init(socketPath: String, socketMode: mode_t, databasePath: String) {
        self.socketPath = socketPath
        self.socketMode = socketMode
        self.databasePath = databasePath
        broker.memoryBytes = Self.automaticMemoryBytes
    }

    /// A quarter of the machine's memory, at most 1 GiB; at least what the daemon works with.
    static var automaticMemoryBytes: Int { max(16 << 20, min(PhysicalMemory.bytes / 4, 1 << 30)) }
}
