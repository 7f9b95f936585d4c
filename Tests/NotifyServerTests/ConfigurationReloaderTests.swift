import Foundation
import Logging
import Synchronization
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct ConfigurationReloaderTests {
    private let folder: TemporaryFolder
    private let output: FileHandle
    private let destination: LogDestination
    private let reloader: ConfigurationReloader

    init() throws {
        folder = try TemporaryFolder()
        output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.write("", to: "log")))
        let file = try folder.write("log_level: info\n", to: "n.yaml")
        let context = context([
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "NOTIFY_SOCKET": folder.file("notify"),
        ])
        let sources = ConfigurationSources(
            options: CommandLineOptions(configuration: file), context: context, defaults: DefaultPaths(for: context))
        let destination = LogDestination(descriptor: output.fileDescriptor, format: .journal, level: .info)
        self.destination = destination
        reloader = try ConfigurationReloader(
            sources: sources, initial: sources.load(), destination: destination,
            notifier: ServiceManagerNotifier(context: context),
            logger: Logger(label: "notifyd") { LineLogHandler(label: $0, destination: destination) })
    }

    private func reload(_ text: String) throws -> (wasRight: Bool, log: String) {
        _ = try folder.write(text, to: "n.yaml")
        let wasRight = if case .applied = reloader.reload() { true } else { false }
        destination.flush(within: .seconds(60))
        return (wasRight, try String(contentsOfFile: folder.file("log"), encoding: .utf8))
    }

    @Test func `a new log level takes effect on reload`() throws {
        let (wasRight, log) = try reload("log_level: debug\n")
        #expect(wasRight)
        #expect(destination.level == .debug)
        #expect(log == "<5>notifyd: configuration reloaded log_level=debug\n")
    }

    @Test func `other changed settings are reported as waiting for the next start`() throws {
        let (wasRight, log) = try reload(
            "socket: /elsewhere\nlog: {checkpoint_bytes: 1MiB}\nlimits: {payload_bytes: 5}\n")
        #expect(wasRight)
        let names = "socket, log.checkpoint_bytes, limits.payload_bytes"
        #expect(log.contains("<4>notifyd: settings that take effect at the next start: \(names)\n"))
    }

    @Test func `a token of a rule that looks like a wildcard is reported`() throws {
        let (wasRight, log) = try reload(
            """
            policy:
              - {deny: [subscribe], names: [a.*, hr*]}
            log: {retention: [{names: [logs.#], max_age: 1h}]}

            """)
        #expect(wasRight)
        let warnings = log.split(separator: "\n").filter { $0.hasPrefix("<4>") }
        let file = folder.file("n.yaml")
        #expect(warnings.count == 2)
        #expect(warnings.first?.hasPrefix("<4>notifyd: \(file):2: policy: 'hr*' in 'hr*' is no wildcard") == true)
        #expect(warnings.last?.hasPrefix("<4>notifyd: log.retention: '#' in 'logs.#' is no wildcard") == true)
    }

    @Test func `log level, presence, policy, retention and limits take effect on reload`() {
        let fixed = ["log.checkpoint_bytes", "limits.payload_bytes", "limits.per_connection.post_window"]
        for setting in ConfigurationSetting.all {
            let isReloaded =
                ["log_level", "presence", "policy"].contains(setting.key)
                || ["log", "limits"].contains(setting.components[0]) && !fixed.contains(setting.key)
            #expect(setting.takesEffectOnReload == isReloaded, "\(setting.key)")
        }
    }

    @Test func `changed rules are not reported as waiting`() throws {
        let (wasRight, log) = try reload(
            """
            policy:
              - {deny: [post], names: [a]}
            limits: {connections: 5}
            log: {max_bytes: 1GiB, retention: [{names: [a], max_age: 1h}]}

            """)
        #expect(wasRight && !log.contains("next start"))
    }

    @Test func `a configuration that is reloaded during the start is applied when the server runs`() throws {
        let reloads = Reloads()
        var configuration = ServerConfiguration(socketPath: "/a", socketMode: 0o600, databasePath: "/b")
        configuration.logLevel = .error
        reloads.reloaded(configuration)
        reloads.reloaded(nil)
        let applied = Mutex<[ServerConfiguration?]>([])
        reloads.set { configuration in applied.withLock { $0.append(configuration) } }
        #expect(applied.withLock { $0 } == [configuration])
        reloads.reloaded(nil)
        #expect(applied.withLock { $0 } == [configuration, nil])
    }

    @Test func `an invalid file is reported, and the configuration stays in effect`() throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let (wasRight, log) = try reload("log_level: debug\nlimits:\n  payload: 5\n")
        #expect(!wasRight)
        #expect(destination.level == .info)
        #expect(
            log.hasPrefix(
                "<3>notifyd: configuration not reloaded, the previous one remains in effect: \(folder.file("n.yaml")):3: unknown key"
            ))
        let status = receiver.next() ?? ""
        #expect(status.hasPrefix("STATUS=running with the previous configuration: "))
        #expect(status.contains("n.yaml:3: unknown key"))
    }

    @Test func `a removed file is an error`() throws {
        try FileManager.default.removeItem(atPath: folder.file("n.yaml"))
        let outcome = reloader.reload()
        // All records must be written before the test closes the descriptor of the log, because another file may then
        // get its number.
        destination.flush(within: .seconds(60))
        guard case .invalid(let error) = outcome else {
            Issue.record("the missing file was accepted")
            return
        }
        #expect(error.contains("cannot be read"))
        #expect(destination.level == .info)
    }
}
