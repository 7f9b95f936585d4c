import Foundation
import Testing

extension IntegrationTests {
    /// What the README shows must go as written.
    @Suite struct ReadmeTests {
        private let readme: String

        init() throws {
            readme = try String(contentsOfFile: Programs.repository + "/README.md", encoding: .utf8)
        }

        /// The text between the fences of the first block in a language.
        private func block(_ language: String) throws -> String {
            let fence = try #require(readme.range(of: "```\(language)\n"))
            let end = try #require(readme[fence.upperBound...].range(of: "```\n"))
            return String(readme[fence.upperBound..<end.lowerBound])
        }

        @Test func theSwiftExampleIsTheOneThatCompilesHere() throws {
            let file = Programs.repository + "/Tests/Integration/ReadmeExample.swift"
            #expect(try block("swift") == String(contentsOfFile: file, encoding: .utf8))
        }

        @Test func theShellSessionGoesAsWritten() async throws {
            let daemon = try await Daemon.start()
            let commands = try block("console").components(separatedBy: "$ ").dropFirst()
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

        @Test func everyFileOfTheTourIsThere() throws {
            let links = readme.matches(of: /\]\(([^):]+)\)/).map { String($0.output.1) }
            #expect(links.count > 15)
            for link in links {
                #expect(FileManager.default.fileExists(atPath: Programs.repository + "/" + link), "\(link)")
            }
        }
    }
}
