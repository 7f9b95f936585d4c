@main struct Notifyctl { static func main() {} }
