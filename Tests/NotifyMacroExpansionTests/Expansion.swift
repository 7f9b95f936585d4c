import NotifyMacroExpansion
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

private let macros: [String: MacroSpec] = [
    "Broadcast": MacroSpec(type: BroadcastMacro.self),
    "Combined": MacroSpec(type: MarkerMacro.self),
    "Optional": MacroSpec(type: MarkerMacro.self),
    "Topic": MacroSpec(type: MarkerMacro.self),
]

/// Expands a source, and compares the expansion, the diagnostics and the fix-its with the expected ones.
func expect(
    _ source: String, expandsTo expanded: String, diagnostics: [DiagnosticSpec] = [], fixed: String? = nil,
    applying fixIts: [String]? = nil, at location: Testing.SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source, expandedSource: expanded, diagnostics: diagnostics, macroSpecs: macros, applyFixIts: fixIts,
        fixedSource: fixed, failureHandler: { Issue.record(Comment(rawValue: $0.message), sourceLocation: location) })
}

/// Returns a source with its macros expanded.
func expansion(of source: String) -> String {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "M", fullFilePath: "M.swift")])
    let expanded = file.expand(
        macroSpecs: macros,
        contextGenerator: {
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
        },
        indentationWidth: .spaces(4))
    return expanded.description
}

/// A source that the macro rejects, with the expected diagnostic and the result of its fix-it.
struct Refusal: CustomTestStringConvertible, Sendable {
    let source: String
    let message: String
    let line: Int
    let column: Int
    let fix: String?
    let fixed: String?

    init(_ source: String, _ message: String, at line: Int, _ column: Int, fix: String? = nil, fixed: String? = nil) {
        self.source = source
        self.message = message
        self.line = line
        self.column = column
        self.fix = fix
        self.fixed = fixed
    }

    /// Creates the refusal of a protocol with one requirement. The requirement and the diagnostic are on line 2.
    init(
        member: String, _ message: String, column: Int, codable: Bool = false, fix: String? = nil, fixed: String? = nil
    ) {
        let head = "@Broadcast\(codable ? "(codable)" : "") protocol P: AnyObject {\n    "
        self.init(
            "\(head)\(member)\n}", message, at: 2, column + 4, fix: fix, fixed: fixed.map { "\(head)\($0)\n}" })
    }

    var testDescription: String { source }

    func check(at location: Testing.SourceLocation = #_sourceLocation) {
        let fixIts = fix.map { [FixItSpec(message: $0)] } ?? []
        expect(
            source, expandsTo: Self.withoutMacros(source),
            diagnostics: [DiagnosticSpec(message: message, line: line, column: column, fixIts: fixIts)],
            fixed: fixed, at: location)
    }

    /// Returns the source without macro attributes: the expansion if all macros expand to nothing.
    static func withoutMacros(_ source: String) -> String {
        source.replacing(#/@(Broadcast|Combined|Optional|Topic)(\([^()]*(\([^()]*\)[^()]*)*\))?\s+/#, with: "")
    }
}
