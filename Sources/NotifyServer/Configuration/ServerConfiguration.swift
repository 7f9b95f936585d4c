package import Glibc

/// Everything that can be set about the daemon, with every default in this file.
///
/// ``ConfigurationSetting/all`` says how each is called in the configuration file and in the environment.
package struct ServerConfiguration: Sendable, Equatable {
    /// Where clients connect. By default where ``DefaultPaths`` says.
    package var socketPath: String
    /// The permission bits of the socket; who may write may connect. 0666 for root and for the system's path, else 0600.
    package var socketMode: mode_t
    /// The database with the stored messages. By default where ``DefaultPaths`` says.
    package var databasePath: String
    /// Takes effect on reload, unlike all else here.
    package var logLevel: LogLevel = .info
    package var limits = Limits()
    package var timeouts = Timeouts()

    package init(socketPath: String, socketMode: mode_t, databasePath: String) {
        self.socketPath = socketPath
        self.socketMode = socketMode
        self.databasePath = databasePath
    }
}

extension ServerConfiguration {
    /// What one may use, so that nobody can take the daemon from the others. A request over a limit is answered with it.
    package struct Limits: Sendable, Equatable {
        /// Connections of all users together. Each takes a descriptor, of which the process gets its hard limit.
        package var connections = 32_768
        /// The bytes of one message's payload.
        package var payloadBytes = 1 << 20
        package var perUser = PerUser()
        package var perConnection = PerConnection()
    }

    /// What all connections of one uid share.
    package struct PerUser: Sendable, Equatable {
        package var connections = 16_384
        /// Live subscriptions, volatile and attached durable ones.
        package var subscriptions = 262_144
        /// Durable subscriptions, attached or not: they outlive their connections.
        package var durableSubscriptions = 4_096
        /// Different names under which stored messages were posted: each stays in the database.
        package var names = 1_048_576
        /// Bytes waiting to be sent to slow readers.
        package var outboxBytes = 256 << 20
        /// Bytes of frames that have arrived in part.
        package var halfReceivedBytes = 64 << 20
    }

    /// What one connection may use of its user's share.
    package struct PerConnection: Sendable, Equatable {
        package var subscriptions = 131_072
        /// Bytes waiting to be sent before the subscription's policy for slow readers applies.
        package var outboxBytes = 8 << 20
        /// Posts with a receipt that may be on their way at once; told to the client in the greeting.
        package var postWindow = 4_096
        /// Messages of a durable subscription that may be delivered and not yet acknowledged.
        package var durableWindow = 256
        /// Bytes of a frame that has arrived in part. At least a frame with the largest payload must fit.
        package var halfReceivedBytes = 4 << 20
        /// Different names and patterns in the connection's subscriptions.
        package var names = 131_072
    }

    package struct Timeouts: Sendable, Equatable {
        /// How long a stopping daemon takes to commit, to flush and to say `closing` before it ends all the same.
        package var drain: Duration = .seconds(10)
        /// How long a connection may take to say who it is before it is closed.
        package var greeting: Duration = .seconds(5)
    }
}
