import Glibc
import NotifyClient

/// Requests monitored posts from the daemon and prints them.
struct PostPrinter: Sendable {
    /// The time to wait after an answer before the next request.
    private static let interval = Duration.milliseconds(100)

    let patterns: [String]
    let json: Bool
    let times: TimeStyle
    /// The number of posts to print; nil for no limit.
    let limit: Int?
    /// The reporter of the client's connection.
    let reporter: ConnectionReporter
    var output = STDOUT_FILENO

    func run(_ client: NotificationClient, until interruption: Interruption) async throws {
        var output = StandardOutput(descriptor: output)
        var left = limit ?? .max
        while left > 0 {
            let posts = try await posts(client)
            for post in posts.prefix(left) {
                left -= 1
                if post.skipped > 0 {
                    try await output.flush(until: interruption)
                    StandardError.write("skipped \(post.skipped) posts: they exceed the daemon's limits for a monitor")
                }
                output.append((json ? Self.json(post) : Self.line(post, times)) + "\n")
                if output.isFull { try await output.flush(until: interruption) }
            }
            try await output.flush(until: interruption)
            if left > 0 { try await Task.sleep(for: Self.interval) }
        }
    }

    /// Requests the next posts. Returns none while the connection is lost or the daemon does not answer, so that the
    /// caller tries again.
    private func posts(_ client: NotificationClient) async throws -> [Administration.MonitoredPost] {
        do {
            return try await client.administration.monitoredPosts(to: patterns)
        } catch {
            guard reporter.wasConnected, error.isTransient else { throw error }
            return []
        }
    }

    static func line(_ post: Administration.MonitoredPost, _ times: TimeStyle) -> String {
        var words = words(post.message, times)
        switch post.outcome {
        case .accepted where post.isRequest: words.append("request")
        case .accepted(let receipt):
            words.append(
                "durability=\(receipt.durability) subscribers=\(receipt.subscribers) durables=\(receipt.stored)")
        case .refused(let error): words.append("REFUSED \(error.code): \(error.message)")
        }
        return Table.printable(words.joined(separator: " "))
    }

    /// The words that describe a post, without its payload.
    static func words(_ message: Administration.PostSummary, _ times: TimeStyle) -> [String] {
        var words = [times.text(microseconds: message.timeMicroseconds)]
        words.append(message.sequence == 0 ? "-" : "\(message.sequence)")
        words.append("uid=\(message.uid)")
        words.append("pid=\(message.pid)")
        words.append(message.name)
        if let object = message.object { words.append("object=\(object)") }
        for (key, value) in message.headers { words.append("\(key)=\(value)") }
        words.append("\(message.payloadSize)B")
        return words
    }

    static func json(_ post: Administration.MonitoredPost) -> String {
        var json = JSONWriter()
        json.object { json in
            write(post.message, to: &json)
            json.optionalMember("client", post.client)
            if post.isRequest { json.member("request", true) }
            switch post.outcome {
            case .accepted where post.isRequest: break
            case .accepted(let receipt):
                json.member("durability", receipt.durability.rawValue)
                json.member("subscribers", receipt.subscribers)
                json.member("durables", receipt.stored)
            case .refused(let error):
                json.member("code", error.code.rawValue)
                json.member("reason", error.message)
            }
            json.member("skipped", post.skipped)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Writes the members that describe a post.
    static func write(_ message: Administration.PostSummary, to json: inout JSONWriter) {
        json.members(of: message)
        json.member("payload_bytes", message.payloadSize)
        json.member(
            "payload_start", text: String(validating: message.payloadPrefix, as: UTF8.self),
            payload: message.payloadPrefix)
    }
}
