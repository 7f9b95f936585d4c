import Foundation
import Testing

extension IntegrationTests {
    /// The examples in the README work as printed.
    @Suite struct ReadmeTests {
        private let readme: String

        init() throws {
            readme = try String(contentsOfFile: Programs.repository + "/README.md", encoding: .utf8)
        }

        /// Returns the contents of the code blocks in a language.
        private func blocks(_ language: String) -> [String] {
            readme.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
                $0.components(separatedBy: "```\n").first
            }
        }

        @Test func `the Swift examples are the compiled ones`() throws {
            let compiled = try ["ReadmeExample", "ReadmeCenterExample"].map {
                try String(
                    contentsOfFile: Programs.repository + "/Tests/Integration/\($0).swift", encoding: .utf8)
            }
            #expect(blocks("swift") == compiled)
        }

        @Test func `every test listed for the five designs exists`() throws {
            let table = try String(
                contentsOfFile: Programs.repository + "/Sources/NotifyCenter/NotifyCenter.docc/FiveDesigns.md",
                encoding: .utf8)
            var rows = 0
            var tests = ""
            for line in table.split(separator: "\n") where line.hasPrefix("|") {
                if let file = line.firstMatch(of: /`(Tests\/.*?\.swift)`/) {
                    tests = try String(contentsOfFile: Programs.repository + "/" + file.output.1, encoding: .utf8)
                }
                guard let name = line.firstMatch(of: /`([^`]*)` \|$/)?.output.1 else { continue }
                #expect(tests.contains("func `\(name)`("), "\(name)")
                rows += 1
            }
            #expect(rows > 30)
        }

        @Test func `the shell session prints what the README shows`() async throws {
            let daemon = try await Daemon.start()
            let commands = try #require(blocks("console").first).components(separatedBy: "$ ").dropFirst()
            #expect(commands.count == 5)
            for text in commands {
                let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                let folder = URL(filePath: Programs.notifyctl).deletingLastPathComponent().path
                let path = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
                let process = try ChildProcess(
                    "sh", ["-c", String(lines[0])], environment: ["PATH": path, "NOTIFYD_SOCKET": daemon.socket])
                let status = try await process.waitForExit()
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
                let output = try await process.standardOutput.wait("the end of output") { $0.isAtEnd ? $0.text : nil }
                #expect(status == .status(0), "\(lines[0]): \(errors)")
                #expect(output == lines[1], "\(lines[0])")
            }
        }

        @Test(arguments: ["README.md", "Sources/README.md"])
        func `every linked file exists`(_ page: String) throws {
            let file = URL(filePath: Programs.repository).appending(path: page)
            let text = try String(contentsOf: file, encoding: .utf8)
            let links = text.matches(of: /\]\(([^):#]+)(?:#[^)]*)?\)/).map { String($0.output.1) }
            #expect(links.count > 10)
            for link in links {
                let target = file.deletingLastPathComponent().appending(path: link).path()
                #expect(FileManager.default.fileExists(atPath: target), "\(link)")
            }
        }
    }
}
