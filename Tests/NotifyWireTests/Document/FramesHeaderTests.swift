import Foundation
import NotifyWire
import Testing

/// Compares the constants of the benchmarks' load generators in C with the protocol document.
@Suite struct FramesHeaderTests {
    /// A constant of the header, such as `SUBSCRIBE_WINDOW = 12,  // 4: window`.
    struct Constant: CustomTestStringConvertible, Sendable {
        /// The name of the frame as in the document, such as `set value`, or `HEADER`.
        let frame: String
        /// `FIXED` or the name of a field; empty for the kind of the frame.
        let part: String
        let value: String
        let comment: String
        var testDescription: String { "\(frame) \(part)" }

        static let all = FramesHeaderTests.header.matches(
            of: /(?m)^ +([A-Z_]+) = (\w+),(?: *\/\/ (.+))?$/
        ).map { match in
            let (frame, part) = FramesHeaderTests.split(String(match.output.1))
            return Constant(
                frame: frame, part: part, value: String(match.output.2), comment: String(match.output.3 ?? ""))
        }
    }

    /// The names of the frames as in the document, by the beginning of their constants.
    private static let frames: [String: String] = {
        let names = FrameKind.allCases.map { kind in
            "\(kind)".reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
        }
        let frames = names.map { ($0.uppercased().replacing(" ", with: "_"), $0) } + [("HEADER", "HEADER")]
        return Dictionary(uniqueKeysWithValues: frames)
    }()

    /// Splits the name of a constant into the name of its frame and the rest.
    private static func split(_ constant: String) -> (frame: String, part: String) {
        let beginnings = frames.keys.filter { constant == $0 || constant.hasPrefix("\($0)_") }
        guard let beginning = beginnings.max(by: { $0.count < $1.count }), let frame = frames[beginning] else {
            return (constant, "")
        }
        return (frame, String(constant.dropFirst(beginning.count + 1)))
    }

    private static let header = text("Tests/Benchmarks/load/frames.h")
    private static let document = text("Sources/NotifyWire/NotifyWire.docc/Protocol.md")

    private static func text(_ path: String) -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    }

    /// The line of the document that introduces a frame, and the rows of the table after it.
    private static func section(of frame: String) -> (heading: String, rows: [String]) {
        let start = frame == "HEADER" ? "| header field |" : "**\(frame)**, 0x"
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
            let name = constant.frame
            let kind = try #require(UInt8(constant.value.dropFirst(2), radix: 16).flatMap(FrameKind.init(rawValue:)))
            #expect(Self.frames.values.contains(name) && "\(kind)".lowercased() == name.replacing(" ", with: ""))
            // A row may name several frames.
            let rows = Self.document.split(separator: "\n").map { $0.replacing(",", with: " |") }
            #expect(rows.contains { $0.contains("| \(constant.value) |") && $0.contains("| \(name) |") })
            #expect(heading.contains("**\(name)**, \(constant.value)"))
        case "FIXED":
            #expect(constant.frame == "HEADER" || heading.contains(", \(constant.value) bytes"))
            #expect(Self.fixedSize(rows) == Int(constant.value))
        default:
            let comment = try #require(constant.comment.firstMatch(of: /^(.+?): (.+)$/))
            let (_, size, text) = comment.output
            if size == "flag" {
                #expect(
                    heading.contains("Flag \(constant.value): \(text)")
                        || heading.contains("Flags: \(constant.value) \(text)"))
            } else {
                #expect(rows.contains { $0.hasPrefix("| \(constant.value) | \(size) | \(text)") })
            }
        }
    }
}
