import Glibc
import Logging
import NotifyClient
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Consumes a durable subscription in a service group. The group is configured as in the article "Getting started" of
/// NotifyClient.
///
/// Usage: `ServiceGroupProgram SOCKET HANDLER SHUTDOWN CANCELLATION`, where SHUTDOWN and CANCELLATION are the group's
/// time limits in milliseconds. Prints each message and then runs the `Handler`. Prints a line when a graceful shutdown
/// begins. Exits with status 1 if a handler was cancelled.
@main
struct ServiceGroupProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let handler = Handler(rawValue: arguments[2]), let shutdown = Int(arguments[3]),
            let cancellation = Int(arguments[4])
        else { exit(64) }
        let client = NotificationClient(configuration: .init(socketPath: arguments[1]))
        var configuration = ServiceGroupConfiguration(
            services: [client, Consumer(client: client, handler: handler)], gracefulShutdownSignals: [.sigterm],
            cancellationSignals: [.sigint], logger: Logger(label: "program", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        configuration.maximumGracefulShutdownDuration = .milliseconds(shutdown)
        configuration.maximumCancellationDuration = .milliseconds(cancellation)
        // The group throws only if the consumer ends before the client does, and after a cancellation either may end
        // first.
        do { try await ServiceGroup(configuration: configuration).run() } catch is CancellationError {}
        if Consumer.wasCancelled.load(ordering: .acquiring) { exit(1) }
    }
}

/// The behaviour of the message handler.
enum Handler: String {
    case returns
    /// Waits until its task is cancelled.
    case waits
    /// Waits forever, and ignores the cancellation of its task.
    case hangs

    func handle() async throws {
        switch self {
        case .returns: break
        case .waits: try await Task.sleep(for: .seconds(86_400))
        case .hangs: await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
    }
}

struct Consumer: Service {
    /// Whether a handler was cancelled.
    static let wasCancelled = Atomic(false)

    let client: NotificationClient
    let handler: Handler

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await client.subscribe(to: "a", as: .durable("d"), onGap: { _ in }) { message in
                print(message.text ?? "")
                do {
                    try await handler.handle()
                } catch {
                    Self.wasCancelled.store(true, ordering: .releasing)
                    throw error
                }
            }
        } onGracefulShutdown: {
            print("shutting down")
        }
    }

    /// Writes a line at once, also to a pipe.
    private func print(_ text: String) {
        let line = Array("\(text)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }
}
