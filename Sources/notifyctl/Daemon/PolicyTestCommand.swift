import ArgumentParser
import Glibc
import NotifyClient

struct PolicyTestCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Print the rule that decides about a right.",
        discussion: """
            Prints "allowed" or "denied" and the rule, with its file and line unless it is a default rule. A \
            subscription is allowed if some names of its pattern are allowed: it receives the messages of these names, \
            and the rule about them is printed. To manage or serve a pattern, all of its names must be allowed. The exit \
            status is 0 if allowed, 77 if denied. To ask about another user, you need the right to manage everything.

            EXAMPLES
              notifyctl policy test post orders.created
              sudo notifyctl policy test --user alice subscribe 'hr.>'
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("The user, by name or uid; by default this one.", valueName: "user"),
        completion: .shellCommand("cut -d : -f 1 /etc/passwd"), transform: { try UserNames.uid(argument: $0) })
    var uid: UInt32?

    @Argument(
        help: "One of \(Self.rights.joined(separator: ", ")).", completion: .list(Self.rights),
        transform: {
            guard let right = Administration.Right(rawValue: $0) else {
                throw ValidationError("expected one of \(Self.rights.joined(separator: ", "))")
            }
            return right
        })
    var right: Administration.Right

    @Argument(help: "A name. For rights other than post it may also be a pattern.")
    var name: String

    var patterns: [String] { [name] }

    private static let rights = Administration.Right.allCases.map(\.rawValue)

    func run() async throws {
        let subject = uid.map(UserNames.subject) ?? UserNames.ownSubject
        let decision = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.policyDecision(on: right, name, for: subject)
        }
        var output = StandardOutput()
        output.append("\(decision.isAllowed ? "allowed" : "denied"): \(decision.reason)\n")
        try output.flush()
        if !decision.isAllowed { throw CommandFailure(.forbidden) }
    }
}
