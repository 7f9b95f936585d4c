import Testing

@testable import NotifyYAML

@Suite struct NodeTests {
    /// A document as text: values with their tags and lines.
    private func describe(_ node: Node) -> String {
        switch node {
        case .scalar(let scalar): "\(scalar.tag) \(scalar.string)@\(scalar.mark.line)"
        case .sequence(let elements): "[\(elements.map(describe).joined(separator: ", "))]@\(elements.mark.line)"
        case .mapping(let mapping):
            "{\(mapping.map { describe($0) + ": " + describe($1) }.joined(separator: ", "))}@\(mapping.mark.line)"
        }
    }

    private static let documents: [(text: String, description: String)] = [
        ("a: 1\nb:\n  - x\n  - [2, 'y']\n", "{str a@1: int 1@1, str b@2: [str x@3, [int 2@4, str y@4]@4]@3}@1"),
        ("# only a comment\n\n- {}\n", "[{}@3]@3"),
        ("---\n", "null @2"),
        ("a: |\n  two\n  lines\n", "{str a@1: str two\nlines\n@1}@1"),
        ("a: \"\\u00e9\\0\"\n", "{str a@1: str é\0@1}@1"),
        ("[&x {a: 1}, *x]", "[{str a@1: int 1@1}@1, {str a@1: int 1@1}@1]@1"),
        ("{1: a, \"1\": b}", "{int 1@1: str a@1, str 1@1: str b@1}@1"),
        ("? [a]\n: b\n", "{[str a@1]@1: str b@2}@1"),
        (
            "[!!str 5, !!int \"5\", !mine x, ! 5, ! [], ! {}]",
            "[str 5@1, int 5@1, other(\"!mine\") x@1, str 5@1, []@1, {}@1]@1"
        ),
    ]

    @Test(arguments: documents)
    func `documents are composed with tags and lines`(_ text: String, _ description: String) throws {
        let node = try #require(try Node.parse(text))
        #expect(describe(node) == description)
    }

    @Test(arguments: ["", "\n\n", "# nothing\n"])
    func `a text without a document has no node`(_ text: String) throws {
        let node = try Node.parse(text)
        #expect(node.map(describe) == nil)
    }

    private static let mistakes: [(text: String, error: YAMLError)] = [
        ("a: [", .invalid(problem: "did not find expected node content", Mark(line: 2, column: 1))),
        (
            "a: b\n\tc: d",
            .invalid(problem: EventReader.tabProblem, Mark(line: 2, column: 1))
        ),
        ("a:\n \tb: c", .invalid(problem: EventReader.tabProblem, Mark(line: 2, column: 2))),
        ("a:\n  -\t{b: c}", .invalid(problem: EventReader.tokenTabProblem, Mark(line: 2, column: 4))),
        ("a: b\nc: \"\\q\"", .invalid(problem: "found unknown escape character", Mark(line: 2, column: 5))),
        ("a: *b", .invalid(problem: "found undefined alias", Mark(line: 1, column: 4))),
        ("[&a [*a]]", .invalid(problem: "found undefined alias", Mark(line: 1, column: 6))),
        ("a\n---\nb", .invalid(problem: "a second document begins", Mark(line: 2, column: 1))),
        ("x: 1\na: \u{7}", .invalid(problem: "control characters are not allowed", Mark(line: 2, column: 4))),
        ("\na: 1\nb: 2\na: 3\nb: 4\na: 5", .duplicateKeys(["a", "b"], Mark(line: 2, column: 1))),
    ]

    @Test(arguments: mistakes)
    func `a parse error has the line and column of the mistake`(_ text: String, _ error: YAMLError) {
        #expect(throws: error) { try Node.parse(text) }
    }

    @Test func `nesting is limited`() throws {
        let open = String(repeating: "[", count: Node.maximumDepth)
        let close = String(repeating: "]", count: Node.maximumDepth)
        _ = try #require(try Node.parse(open + "a" + close))
        #expect(throws: YAMLError.self) { try Node.parse("[" + open + "a" + close + "]") }
        #expect(throws: YAMLError.self) { try Node.parse(String(repeating: "[", count: 1 << 20)) }
        #expect(throws: YAMLError.self) { try Node.parse(String(repeating: "- ", count: 1 << 19)) }
    }
}
