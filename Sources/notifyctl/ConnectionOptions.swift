import ArgumentParser
import NotifyClient

/// The options of every command that connects to the daemon.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The path of the daemon's socket.", valueName: "path"), completion: .file())
    var socket: String?

    /// The configuration of a client that ends if its first attempt to connect fails.
    func configuration() -> NotifyClient.Configuration {
        var configuration = NotifyClient.Configuration(socketPath: socket)
        configuration.requiresFirstConnection = true
        return configuration
    }
}
