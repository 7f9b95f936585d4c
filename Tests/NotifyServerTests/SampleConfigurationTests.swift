import Foundation
import Testing
import TestSupport

@testable import NotifyServer

/// The sample configuration file, compared with the settings.
@Suite struct SampleConfigurationTests {
    private let text: String

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        text = try String(contentsOf: root.appendingPathComponent("systemd/notifyd.yaml"), encoding: .utf8)
    }

    /// The file with every setting uncommented.
    private var uncommented: String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("# ") ? String($0.dropFirst(2)) : String($0) }.joined(separator: "\n")
    }

    private func load(_ text: String) throws -> ServerConfiguration {
        let folder = try TemporaryFolder()
        let options = CommandLineOptions(configuration: try folder.write(text, to: "notifyd.yaml"))
        let root = context(user: 0)
        return try ConfigurationSources(options: options, context: root, defaults: DefaultPaths(for: root)).load()
    }

    @Test func `the values in the sample are the defaults`() throws {
        #expect(try load(uncommented) == load(""))
    }

    @Test func `the sample without changes sets nothing`() throws {
        #expect(try load(text) == load(""))
    }

    @Test func `the sample has every setting`() throws {
        let file = try ConfigurationFile(
            ConfigurationDocument(path: "notifyd.yaml", bytes: Array(uncommented.utf8)))
        #expect(file.values.count + file.lists.count == ConfigurationSetting.all.count)
    }
}
