module example.org/other

go 1.24.0

replace example.org/module => ../module

require example.org/module v0.0.0-00010101000000-000000000000
