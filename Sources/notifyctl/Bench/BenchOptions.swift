import ArgumentParser
import Glibc
import NotifyClient
import NotifyUnits

/// The options of every benchmark.
struct BenchOptions: ParsableArguments {
    /// The maximum number of bytes in flight for each client.
    private static let windowBytes = 16 << 20

    @OptionGroup var connection: ConnectionOptions

    @Option(
        help: ArgumentHelp(
            "The name to post under. By default one that belongs to this user and this run: user.UID.bench.PID.",
            valueName: "name"))
    var name: String?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("The number of messages, of all clients together."),
        transform: { try CountArgument.count($0) })
    var messages = 100_000

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("The size of each payload, such as 4KiB, at least 16.", valueName: "bytes"),
        transform: { text in
            guard let bytes = Quantity.bytes(text).map(Int.init(clamping:)) else {
                throw ValidationError("expected a number of bytes, or one with the unit KiB or MiB")
            }
            return bytes
        })
    var size = 128

    @Flag(help: "Print one JSON object, with times in nanoseconds.")
    var json = false

    func validate() throws {
        guard 1...1_000_000_000 ~= messages else { throw ValidationError("--messages must be 1 to 1000000000") }
        guard BenchMessage.minimumBytes...NotificationClient.maximumPayloadBytes ~= size else {
            throw ValidationError(
                "--size must be \(BenchMessage.minimumBytes) to \(NotificationClient.maximumPayloadBytes)")
        }
        if let name { try UserNames.check([name]) }
    }

    /// Refuses a number of clients that is not 1 to 1000, or that exceeds the number of messages.
    func check(_ option: String, _ count: Int) throws {
        guard 1...1_000 ~= count else { throw ValidationError("\(option) must be 1 to 1000") }
        guard count <= messages else { throw ValidationError("\(option) must not exceed --messages") }
    }

    var effectiveName: String { name ?? "user.\(geteuid()).bench.\(getpid())" }

    func message(
        name: String, durability: NotificationClient.Durability = .automatic, tag: UInt64 = .random(in: 0...(.max))
    ) throws -> BenchMessage {
        try BenchMessage(
            NotificationClient.OutgoingMessage(name: name, durability: durability), bytes: size, tag: tag)
    }

    /// Makes one poster for each client. The posters share the messages evenly.
    func posters(_ clients: [NotificationClient], _ message: BenchMessage, inFlight: Int) -> [BenchPoster] {
        let window = max(1, min(inFlight, Self.windowBytes / size))
        return zip(clients, parts(clients.count)).map { client, count in
            BenchPoster(client: client, message: message, count: count, window: window)
        }
    }

    /// Divides the number of messages into `count` parts that differ by at most 1.
    func parts(_ count: Int) -> [Int] {
        (0..<count).map { messages / count + ($0 < messages % count ? 1 : 0) }
    }

    func report(
        _ benchmark: String, clients: [(role: String, count: Int)], start: UInt64, _ parts: [BenchReport.Part]
    ) -> BenchReport {
        BenchReport(
            benchmark: benchmark, name: effectiveName, messages: messages, bytes: size, clients: clients, start: start,
            parts: parts)
    }

    /// Runs a benchmark and prints its report. SIGINT and SIGTERM interrupt it.
    func run(_ benchmark: @escaping @Sendable (Interruption) async throws -> BenchReport) async throws {
        let signals = await Interruption.trapSignals()
        let interruption = Interruption()
        let progress = ProgressBar()
        let start = ContinuousClock.now
        let report = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.endUnanswered { _ in .benchmarkInterrupted } }
            group.addTask {
                await progress.keepShowing { BenchProgress.line(of: messages, after: .now - start) }
            }
            defer { group.cancelAll() }
            return try await benchmark(interruption)
        }
        progress.clear()
        var output = StandardOutput()
        output.gather { $0.append(contentsOf: json ? report.json + [UInt8(ascii: "\n")] : Array(report.text.utf8)) }
        try output.flush()
    }
}
