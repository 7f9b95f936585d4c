import ArgumentParser
import NotifyClient

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why notifyd does not work, and how to repair it.",
        discussion: """
            Connects to the daemon as every other command does. If that fails, finds the reason. Then checks the \
            systemd units (whether notifyd.socket is enabled, and whether a unit has failed), if the socket is a \
            default one. Checks the configuration, the socket, the database and the disk with 'notifyd --check-start', \
            unless a daemon answers at another socket. Checks the files of the system's daemon only for root. \
            Reports that messages can't be stored or are damaged. Reports durable subscriptions that are far behind, \
            and limits of stored data that are nearly reached: those of this user or, with the right to manage \
            everything, of every user. Reports why a reload of the configuration has failed, and that the socket file \
            of a running daemon was deleted. Changes nothing.

            The exit status is 0 if no problem was found, else 1.

            EXAMPLES
              notifyctl doctor
              sudo notifyctl doctor
              notifyctl doctor --socket /tmp/try.sock
            """)

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let doctor = try Doctor(
            path: NotificationClient.socketPath(
                explicit: connection.socket, onSkip: ConnectionOptions.reportSkippedSocket),
            searched: connection.socket == nil ? NotificationClient.searchedSocketPaths : [],
            configuration: connection.configuration())
        let findings = await doctor.examine()
        var output = StandardOutput()
        for finding in findings { output.append(finding.text) }
        if findings.isEmpty { output.append("no problem found: notifyd answers at \(doctor.path)\n") }
        try output.flush()
        if !findings.isEmpty { throw CommandFailure(.failure) }
    }
}
