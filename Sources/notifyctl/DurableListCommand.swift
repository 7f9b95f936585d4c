import ArgumentParser
import NotifyClient

struct DurableListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List durable subscriptions: this user's, or for root those of every user.",
        discussion: """
            Prints one line for each: its name, whose it is, the sequence up to which everything is done with, the process \
            that holds it, its object and its patterns; '-' stands for none.

            EXAMPLES
              notifyctl durable list
              notifyctl durable list --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object for each.")
    var json = false

    func run() async throws {
        let all = try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.durableSubscriptions()
        }
        var output = StandardOutput()
        for subscription in all {
            output.gather { $0.append(contentsOf: json ? Self.json(subscription) : Self.text(subscription)) }
            output.append("\n")
        }
        try output.flush()
    }

    static func text(_ subscription: NotifyClient.DurableSubscription) -> [UInt8] {
        let holder = subscription.holderPID.map(String.init) ?? "-"
        let line =
            "\(subscription.name) uid=\(subscription.uid) cursor=\(subscription.cursor) holder=\(holder) "
            + "object=\(subscription.object ?? "-") patterns=\(subscription.patterns.joined(separator: ","))"
        return Array(line.utf8)
    }

    static func json(_ subscription: NotifyClient.DurableSubscription) -> [UInt8] {
        var json = JSONText()
        json.object { json in
            json.member("name", subscription.name)
            json.member("uid", subscription.uid)
            json.member("cursor", subscription.cursor)
            json.key("holder")
            if let holder = subscription.holderPID { json.number(holder) } else { json.null() }
            json.member("object", subscription.object)
            json.key("patterns")
            json.array { json in
                for pattern in subscription.patterns { json.string(pattern) }
            }
        }
        return json.bytes
    }
}
