import ArgumentParser
import NotifyClient

/// What every command that talks to the daemon takes.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The daemon's socket, instead of looking for it.", valueName: "path"), completion: .file())
    var socket: String?

    /// A client that gives up where there is no daemon at the start.
    func configuration() -> NotifyClient.Configuration {
        var configuration = NotifyClient.Configuration(socketPath: socket)
        configuration.requiresFirstConnection = true
        return configuration
    }
}
