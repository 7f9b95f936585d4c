import CYAML

/// Reads the events of a document with libyaml.
///
/// A class, so that its `deinit` frees the parser. The parser has a fixed address, because libyaml keeps pointers to
/// it.
final class EventReader {
    enum Event {
        case scalar(Node.Scalar, anchor: String?)
        case sequenceStart(Node.Tag, anchor: String?)
        case mappingStart(Node.Tag, anchor: String?)
        /// The end of a sequence or of a mapping.
        case end
        case alias(String)
        case documentStart
        case documentEnd
        case streamEnd
        case other
    }

    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let text: UnsafeBufferPointer<UInt8>

    /// - Parameter text: UTF-8. The buffer must outlive the reader.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        guard yaml_parser_initialize(parser) == 1 else { fatalError("out of memory") }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// Returns the next event and its place.
    ///
    /// - Throws: `YAMLError.invalid`.
    func next() throws(YAMLError) -> (event: Event, mark: Mark) {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        defer { yaml_event_delete(&event) }
        let mark = Mark(event.start_mark)
        return (Self.event(event, at: mark), mark)
    }

    private static func event(_ event: yaml_event_t, at mark: Mark) -> Event {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let string = String(decoding: bytes, as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            let isUntagged = scalar.tag == nil && scalar.quoted_implicit == 0
            let tag = isUntagged ? Node.Tag(ofPlain: string) : Self.tag(scalar.tag, .str)
            let node = Node.Scalar(string: string, style: isPlain ? .plain : .quoted, tag: tag, mark: mark)
            return .scalar(node, anchor: Self.string(scalar.anchor))
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return .sequenceStart(Self.tag(start.tag, .seq), anchor: Self.string(start.anchor))
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return .mappingStart(Self.tag(start.tag, .map), anchor: Self.string(start.anchor))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return .end
        case YAML_ALIAS_EVENT: return .alias(Self.string(event.data.alias.anchor) ?? "")
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_STREAM_END_EVENT: return .streamEnd
        default: return .other
        }
    }

    /// The tag that is written in the text; `implicit` if there is none, or if the tag is "!".
    private static func tag(_ text: UnsafePointer<UInt8>?, _ implicit: Node.Tag) -> Node.Tag {
        guard let text = string(text), text != "!" else { return implicit }
        return Node.Tag(written: text)
    }

    private static func string(_ text: UnsafePointer<UInt8>?) -> String? {
        text.map { String(cString: $0) }
    }

    static let tabProblem = "the line is indented with a TAB character; YAML allows only spaces"

    static let tokenTabProblem = "a TAB character stands where YAML allows only spaces"

    /// Whether the character at a place is a TAB.
    private func isTab(at mark: Mark) -> Bool {
        let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: mark.line, omittingEmptySubsequences: false)
        guard lines.indices.contains(mark.line - 1) else { return false }
        return String(decoding: lines[mark.line - 1], as: UTF8.self).unicodeScalars.dropFirst(mark.column - 1).first
            == "\t"
    }

    /// Whether white space at the beginning of a line has a TAB.
    private func isIndentedWithTab(_ line: Int) -> Bool {
        let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: line, omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return false }
        let space = [UInt8(ascii: " "), UInt8(ascii: "\t")]
        return lines[line - 1].prefix { space.contains($0) }.contains(UInt8(ascii: "\t"))
    }

    private var failure: YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "out of memory"
        guard parser.pointee.error == YAML_READER_ERROR else {
            let mark = Mark(parser.pointee.problem_mark)
            if isIndentedWithTab(mark.line) { return .invalid(problem: Self.tabProblem, mark) }
            return .invalid(problem: isTab(at: mark) ? Self.tokenTabProblem : problem, mark)
        }
        // For an error of its reader, libyaml reports only the offset.
        let before = text.prefix(parser.pointee.problem_offset)
        let lines = before.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return .invalid(problem: problem, Mark(line: lines.count, column: (lines.last?.count ?? 0) + 1))
    }
}

extension Mark {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
