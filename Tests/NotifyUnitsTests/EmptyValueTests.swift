import NotifyUnits
import Testing

@Suite struct EmptyValueTests {
    @Test(arguments: [("--object=", "--object"), ("-c=", "-c"), ("--a-b=", "--a-b"), ("--=", "--"), ("-=", "-")])
    func `an option with an empty value is found`(argument: String, option: String) {
        #expect(EmptyValue.option(of: argument) == option)
    }

    @Test(arguments: ["", "=", "a=", "--object", "--object=b", "--object=b=", "--object==", "-", "--"])
    func `other arguments are not options with an empty value`(argument: String) {
        #expect(EmptyValue.option(of: argument) == nil)
    }
}
