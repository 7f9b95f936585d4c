import TestSupport
import Testing

@testable import notifyctl

@Suite struct OpenMetricsWriterTests {
    @Test func `families have their type, unit, help and samples`() throws {
        var writer = OpenMetricsWriter()
        writer.append("log_bytes", .gauge, help: "Size.", [.init(value: 7)])
        writer.append("posts", .counter, help: nil, [.init(labels: [("uid", "1"), ("name", "a")], value: 2)])
        writer.end()
        #expect(
            writer.text == """
                # TYPE log_bytes gauge
                # UNIT log_bytes bytes
                # HELP log_bytes Size.
                log_bytes 7
                # TYPE posts counter
                posts_total{uid="1",name="a"} 2
                # EOF

                """)
        _ = try OpenMetricsParser.parse(writer.text)
    }

    @Test func `labels and help are escaped, names are made valid`() throws {
        let hostile = "a\\n\"}\n# EOF\n{=, é"
        var writer = OpenMetricsWriter()
        writer.append("später.x-y", .info, help: hostile, [.init(labels: [("l", hostile)], value: 1)])
        writer.end()
        let families = try OpenMetricsParser.parse(writer.text)
        #expect(families.map(\.name) == ["sp_ter_x_y"])
        #expect(families[0].help == hostile)
        #expect(families[0].samples.map(\.labels) == [["l": hostile]])
    }

    @Test(arguments: [
        "", "# TYPE a gauge\na 1\n", "a 1\n# EOF\n", "# TYPE a gauge\na_total 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n", "# TYPE a gauge\na 1\n\n# EOF\n", "# TYPE a gauge\na 1 \n# EOF\n",
        "# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n", "# TYPE a gauge\na{l=\"x} 1\n# EOF\n",
        "# TYPE a gauge\na{l=\"x\",} 1\n# EOF\n", "# TYPE a gauge\na 1\n# HELP a b\n# EOF\n",
        "# TYPE a gauge\na 1\na 1\n# EOF\n", "# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n",
    ])
    func `the parser of the tests refuses invalid OpenMetrics`(text: String) {
        #expect(throws: OpenMetricsParser.Invalid.self) { try OpenMetricsParser.parse(text) }
    }
}
