import Glibc
import NotifyClient

/// Measures NotifyClient: `ClientLoad SOCKET SECONDS PAYLOAD`. Each measurement posts or receives volatile messages of
/// PAYLOAD bytes for SECONDS, and fails if a message is missing or out of order.
///
/// Prints a line for each measurement, in the form that `peers/table` reads.
@main
struct ClientLoad {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let seconds = Double(arguments[2]), let payload = Int(arguments[3]), seconds > 0,
            payload >= MemoryLayout<UInt64>.size
        else { exit(64) }
        let path = arguments[1]
        let duration = Duration.seconds(seconds)
        try await withNotificationClient(configuration: .init(socketPath: path)) { client in
            let posting = try Posting(client: client, payload: payload, duration: duration)
            try await posting.oneAtATime().print("client-post 0 \(payload) single")
            try await posting.pipelined().print("client-post 0 \(payload) pipelined")
            try await posting.contents().print("client-contents 0 \(payload) pipelined")
            let receiving = Receiving(client: client, socketPath: path, payload: payload, duration: duration)
            try await receiving.messages().print("client-messages 1 \(payload) pipelined")
            try await receiving.batches().print("client-batches 1 \(payload) pipelined")
        }
    }
}

/// The outcome of one measurement.
struct Measurement {
    var messages: Int
    var duration: Duration
    /// The time from each post to its receipt, in order of time; empty if it was not measured.
    var trips: [Duration] = []

    func print(_ title: String) {
        var line = "\(title) rate \(Double(messages) / (duration / .seconds(1)))"
        if !trips.isEmpty { line += " p50-us \(trips[messages / 2] / .microseconds(1))" }
        if trips.count >= 100 { line += " p99-us \(trips[messages * 99 / 100] / .microseconds(1))" }
        Swift.print(line)
    }
}

/// A message or a receipt that is missing, or that arrived out of order.
struct WrongResult: Error {
    let description: String
}
