import Foundation
import NotifyWire
import Testing

/// Compares the constants of the benchmarks' load generators in C with the protocol document.
@Suite struct FramesHeaderTests {
    /// A constant of the header, such as `SUBSCRIBE_WINDOW = 12,  // 4: window`.
    struct Constant: CustomTestStringConvertible, Sendable {
        let frame: String
        /// `FIXED` or the name of a field; empty for the kind of the frame.
        let part: String
        let value: String
        let comment: String
        var testDescription: String { "\(frame) \(part)" }

        static let all = FramesHeaderTests.header.matches(
            of: /(?m)^ +([A-Z]+)(?:_([A-Z_]+))? = (\w+),(?: *\/\/ (.+))?$/
        ).map { match in
            Constant(
                frame: String(match.output.1), part: String(match.output.2 ?? ""), value: String(match.output.3),
                comment: String(match.output.4 ?? ""))
        }
    }

    private static let header = text("Tests/Benchmarks/load/frames.h")
    private static let document = text("Sources/NotifyWire/NotifyWire.docc/Protocol.md")

    private static func text(_ path: String) -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    }

    /// The line of the document that introduces a frame, and the rows of the table after it.
    private static func section(of frame: String) -> (heading: String, rows: [String]) {
        let start = frame == "HEADER" ? "| header field |" : "**\(frame.lowercased())**, 0x"
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            .drop { !$0.contains(start) }
        let rows = lines.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
        return (lines.first ?? "", Array(rows))
    }

    /// The size of the fields before the first field of variable size.
    private static func fixedSize(_ rows: [String]) -> Int? {
        rows.compactMap { row -> Int? in
            guard let match = row.firstMatch(of: /^\| (\d+) \| (\d+) \|/), let offset = Int(match.output.1),
                let size = Int(match.output.2)
            else { return nil }
            return offset + size
        }.max()
    }

    @Test func `every value in the header of the load generators is read`() {
        #expect(Constant.all.count > 50)
        #expect(Constant.all.count == Self.header.matches(of: /(?m)^ +[^\/\n]* = \w+,/).count)
    }

    @Test(arguments: Constant.all)
    func `the document has each constant of the load generators`(_ constant: Constant) throws {
        let (heading, rows) = Self.section(of: constant.frame)
        switch constant.part {
        case "":
            let name = constant.frame.lowercased()
            let kind = try #require(UInt8(constant.value.dropFirst(2), radix: 16).flatMap(FrameKind.init(rawValue:)))
            #expect("\(kind)" == name)
            #expect(Self.document.contains("| \(constant.value) | \(name) |"))
            #expect(heading.contains("**\(name)**, \(constant.value)"))
        case "FIXED":
            #expect(constant.frame == "HEADER" || heading.contains(", \(constant.value) bytes"))
            #expect(Self.fixedSize(rows) == Int(constant.value))
        default:
            let comment = try #require(constant.comment.firstMatch(of: /^(.+?): (.+)$/))
            let (_, size, text) = comment.output
            if size == "flag" {
                #expect(heading.contains("Flag \(constant.value): \(text)"))
            } else {
                #expect(rows.contains { $0.hasPrefix("| \(constant.value) | \(size) | \(text)") })
            }
        }
    }
}
