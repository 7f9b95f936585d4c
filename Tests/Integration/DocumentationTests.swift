import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// The README and the articles about the programs and the client library work as printed. The blocks of the articles
    /// in `sh` need root and systemd, so Tests/Boot runs them. Swift of the client library is compiled by its own tests.
    @Suite struct DocumentationTests {
        @Test func `the README is short and shows compiled Swift`() throws {
            let readme = try Page("README.md")
            #expect(readme.text.split { $0.isWhitespace }.count <= 1200)
            let compiled = try Page("Tests/Integration/ReadmeExample.swift").text
            #expect(readme.blocks.filter { $0.language == "swift" }.map(\.text) == [compiled])
        }

        @Test func `every block is in a language that a test reads`() throws {
            for page in Page.all {
                let languages = Set(page.blocks.map(\.language))
                #expect(languages.subtracting(Self.languages(of: page)) == [], "\(page)")
            }
            #expect(Page.all.map(\.commands.count).reduce(0, +) > 60)
        }

        private static func languages(of page: Page) -> Set<String> {
            if page.path == "README.md" { return ["sh", "console", "swift", ""] }
            if page.path.contains("NotifyClient.docc") { return ["console", "swift", ""] }
            return page.path.contains("notifyctl.docc") ? ["console"] : ["sh", "console", "yaml"]
        }

        @Test(arguments: Page.all.filter { !$0.commands.isEmpty })
        func `every command prints the output on the page`(_ page: Page) async throws {
            let daemon = try await Daemon.start()
            let folder = try TemporaryFolder()
            for command in page.commands {
                let result = try await Notifyctl(daemon).shell("exec 2>&1; cd '\(folder.path)'\n\(command.text)")
                #expect(result.status == .status(0), "\(command.text): \(result.output)")
                #expect(Self.repeatable(result.output) == Self.repeatable(command.output), "\(command.text)")
            }
        }

        /// Replaces the parts that differ between runs: times, users and processes. Drops the newlines at the end,
        /// because the output of some commands has none.
        private static func repeatable(_ output: String) -> String {
            let variable = [
                #"\d{4}-\d\d-\d\dT[\d:.]+Z"#, #"in [\d.]+ .?s, \d+/s"#, #"\d+s ago"#, #""oldest_pending_seconds":\d+"#,
                #""[ug]id":\d+"#, #""user":"[^"]*""#, #""pid":\d+"#, #"(?<=process )\d+( of .*)?"#, #"(?<=user )\s+.*"#,
                #"(?<=user\.)\d+"#, #"(?<=notifyd\.dead\.)\d+"#,
            ]
            return variable.reduce(output.trimmingCharacters(in: .newlines)) {
                $0.replacingOccurrences(of: $1, with: "…", options: .regularExpression)
            }
        }

        @Test func `every example of a configuration is valid`() async throws {
            let folder = try TemporaryFolder()
            let examples = Page.all.flatMap(\.blocks).filter { $0.language == "yaml" }
            #expect(examples.count >= 3)
            for example in examples {
                try example.text.write(toFile: folder.file("notifyd.yaml"), atomically: true, encoding: .utf8)
                let result = try await Notifyctl(socket: nil).shell(
                    "notifyd --check-config --config '\(folder.file("notifyd.yaml"))'")
                #expect(result.status == .status(0), "\(example.text)\(result.errors)")
            }
        }

        /// Commands in the text, such as `notifyctl purge`, are not run: they must exist, with their options.
        @Test func `every command named in the text exists with its options`() async throws {
            let tools = try await [CommandTree(of: "notifyctl"), CommandTree(of: "notifyd")]
            let scripts = try ["install", "uninstall"].map { try Page("systemd/\($0)").text }
            var count = 0
            for page in Page.all {
                let named = page.prose.matches(of: /`([^`\n]+)`/).map { String($0.output.1) }
                let lines = page.blocks.filter { $0.language == "sh" && page.path == "README.md" }.flatMap(\.lines)
                for text in named + lines {
                    var words = text.split(separator: " ")[...]
                    while let first = words.first, ["sudo", "bash"].contains(first) { words.removeFirst() }
                    guard let first = words.first else { continue }
                    if let tool = tools.first(where: { $0.name == first }) {
                        #expect(tool.problem(words.dropFirst()) == nil, "\(page): \(text)")
                        count += 1
                    } else if first.hasPrefix("--"), first != "--" {
                        let isKnown = tools.contains { $0.hasOption(first) } || scripts.contains { $0.contains(first) }
                        #expect(isKnown, "\(page): \(text)")
                    } else if first.contains(/^(\.ci|systemd|Tests)\//) {
                        let path = Programs.repository + "/" + first
                        #expect(FileManager.default.fileExists(atPath: path), "\(page): \(text)")
                    }
                }
            }
            #expect(count > 50)
        }

        @Test(
            arguments: Page.all.map(\.path) + ["Sources/README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"])
        func `every linked file exists`(_ path: String) throws {
            let page = try Page(path)
            let folder = URL(filePath: Programs.repository).appending(path: page.path).deletingLastPathComponent()
            for link in page.prose.matches(of: /\]\(([^):#]+)(?:#[^)]*)?\)/).map({ String($0.output.1) }) {
                let target = folder.appending(path: link).path()
                #expect(FileManager.default.fileExists(atPath: target), "\(page): \(link)")
            }
        }

        @Test func `every test listed for the five designs exists`() throws {
            let table = try Page("Sources/NotifyCenter/NotifyCenter.docc/FiveDesigns.md").text
            var rows = 0
            var tests = ""
            for line in table.split(separator: "\n") where line.hasPrefix("|") {
                if let file = line.firstMatch(of: /`(Tests\/.*?\.swift)`/) {
                    tests = try Page(String(file.output.1)).text
                }
                guard let name = line.firstMatch(of: /`([^`]*)` \|$/)?.output.1 else { continue }
                #expect(tests.contains("func `\(name)`("), "\(name)")
                rows += 1
            }
            #expect(rows > 30)
        }
    }
}
