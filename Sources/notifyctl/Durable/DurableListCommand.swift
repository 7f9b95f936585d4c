import ArgumentParser
import NotifyClient

struct DurableListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the durable subscriptions of this user or, with the right to manage, of every user.",
        discussion: """
            Prints one line for each: its name, the uid of its owner, its cursor (the sequence up to which all messages are \
            acknowledged), the process attached to it, its object and its patterns; '-' means none.

            EXAMPLES
              notifyctl durable list
              notifyctl durable list --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object for each subscription.")
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
        var json = JSONWriter()
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
