import NotifyClient
import ServiceLifecycle
import Synchronization

/// A server that runs a command for each request.
final class CommandServer: JobService {
    private let configuration: NotificationClient.Configuration
    private let patterns: [String]
    private let parallel: Int
    private let runner: JobRunner
    private let failure = Mutex<String?>(nil)

    let interruption = Interruption()
    let printsOutput = false

    init(
        configuration: NotificationClient.Configuration, patterns: [String], parallel: Int, runner: JobRunner
    ) {
        self.configuration = configuration
        self.patterns = patterns
        self.parallel = parallel
        self.runner = runner
    }

    var failedStart: String? { failure.withLock { $0 } }

    func run() async throws {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotificationClient(configuration: configuration) { client in
            try await client.serve(patterns, concurrency: parallel) { request in
                try await self.response(to: request)
            }
        }
    }

    /// Runs the command for a request.
    ///
    /// - Throws: `RequestError` if there is no reply.
    func response(to request: NotificationClient.Request) async throws -> NotificationClient.Response {
        let message = try NotificationClient.Message(
            sequence: 0, name: request.name, payload: request.payload, headers: request.headers,
            timeMicroseconds: request.timeMicroseconds, uid: request.uid, gid: request.gid, pid: request.pid)
        let output = CollectedOutput(limit: NotificationClient.maximumPayloadBytes)
        var hasStarted = false
        let outcome = await runner.run(message, keepingOutputIn: output) {
            hasStarted = interruption.reason == nil
            return hasStarted
        }.settled(by: interruption)
        switch outcome {
        case .done:
            guard let content = output.content else {
                throw NotificationClient.RequestError.failed("the output of the command is too large for a reply")
            }
            return NotificationClient.Response(content)
        case .givenBack: throw NotificationClient.RequestError.giveBack
        case .stopped where !hasStarted: throw NotificationClient.RequestError.giveBack
        case .failed(let reason), .deadLetter(let reason), .stopped(let reason):
            // The exit status, and the end of standard error in further lines.
            let parts = reason.split(separator: "\n", maxSplits: 1).joined(separator: ": ")
            throw NotificationClient.RequestError.failed(parts)
        case .notStarted(let reason):
            failure.withLock { $0 = $0 ?? reason }
            interruption.interrupt(.failure)
            throw NotificationClient.RequestError.giveBack
        }
    }
}
